-- One row per run in whose verdicts judges have a say, with the evaluation profile they are of.
-- It is the run's own, unless another one was asked for.
select
    run_id,
    evaluation_profile_id,
    judge_hash
from raw_deciding_profiles
