# Prints the version of mini-swe-agent, which its command does not say.
exec python3 -c 'from importlib.metadata import version; print(version("mini-swe-agent"))'
