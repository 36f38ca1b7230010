# Work is moved off a host before it is disrupted, and let back when it is
# well again. All of these commands run on the bastion, in this folder, and
# get HOLDFAST_HOST, HOLDFAST_ADDRESS, HOLDFAST_POOL and HOLDFAST_RUN.

site "busy" {
  ssh {
    user   = "core"
    become = "sudo"
  }
}

variable "commit" {}

pool "worker" {
  max_unavailable = 2
  os {
    driver = "ostree"
    commit = var.commit
  }

  # One drain for a pool. If it fails or takes too long the host is not
  # rebooted and the run stops.
  drain "kubernetes" {
    command = "kubectl drain \"$HOLDFAST_HOST\" --ignore-daemonsets --delete-emptydir-data"
    undo    = "kubectl uncordon \"$HOLDFAST_HOST\""
    timeout = "15m"
  }

  # Any number of gates: each is tried every five seconds until it exits 0.
  gate "ceph" {
    command = "ceph health | grep -q HEALTH_OK"
    when    = ["before-batch", "after-host"]
    timeout = "30m"
  }
  gate "node" {
    command = "kubectl wait --for=condition=Ready \"node/$HOLDFAST_HOST\" --timeout=5s"
    when    = ["after-host"]
  }
}

hosts "worker" {
  range   = "1-8"
  address = "worker-${id}.busy.example"
  pool    = "worker"
}
