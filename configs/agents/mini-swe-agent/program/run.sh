# Runs mini-swe-agent with the task on standard input, and prints what it has submitted.
log="$HOME/trajectory.json"
mini --yolo --exit-immediately --cost-limit 0 --model "openai/$1" --output "$log" \
    --task "$(cat)" >&2
code=$?
[ -f "$log" ] && python3 -c '
import json, sys
print(json.load(open(sys.argv[1]))["info"].get("submission") or "")' "$log"
exit $code
