"""What a run is made with: machine, versions, weights, configs."""
