-- One row per set of thresholds in force; there is one.
select
    pass_rate_margin,
    min_coverage,
    timeout_warning_share,
    alpha,
    power,
    tier_1_from,
    tier_2_from
from raw_thresholds
