-- One row per failure type that this version knows.
-- The table of `schemas.failures`, registered by the catalog; a newer version may write others.
select
    failure_type,
    availability_status,
    status,
    cause,
    retryable as is_retryable,
    counts_against_model
from raw_failure_types
