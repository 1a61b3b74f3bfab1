-- One row per planned trial, as it stood before the first request.
-- case_hash, run_fingerprint and its parts are null for a folder in the older shape.
select
    raw_plans.*,
    cardinality(expected_tools) > 0 as has_expected_tools
from raw_plans
