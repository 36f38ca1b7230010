# Work is moved off a host before it is disrupted, and let back when it is
# well again. Commands run on the bastion, in this folder, and get
# HOLDFAST_HOST, HOLDFAST_ADDRESS, HOLDFAST_POOL and HOLDFAST_RUN.

site "busy" {
  ssh {
    user   = "core"
    become = "sudo"
  }
}

variable "commit" {}

# The user of this kubeconfig needs the rights of kubernetes-rbac.yaml.
kubernetes "main" {
  kubeconfig = "kubeconfig"
}

pool "worker" {
  kubernetes      = "main"
  max_unavailable = 2
  os {
    driver = "ostree"
    commit = var.commit
  }

  # The node is cordoned and its pods are evicted, as by kubectl drain. If
  # pods are left when the time is over, the host is given back, uncordoned.
  drain "pods" {
    kind                 = "kubernetes"
    delete_emptydir_data = true
    timeout              = "15m"
  }

  # Any number of gates: each is tried every five seconds until it exits 0.
  gate "ceph" {
    command = "ceph health | grep -q HEALTH_OK"
    when    = ["before-batch", "after-host"]
    timeout = "30m"
  }
}

# Other work is moved by commands, one drain for a pool. If it fails or takes
# too long the host is not rebooted and the run stops.
pool "render" {
  os {
    driver = "ostree"
    commit = var.commit
  }
  drain "queue" {
    command = "./queue pause \"$HOLDFAST_HOST\" --wait"
    undo    = "./queue resume \"$HOLDFAST_HOST\""
    timeout = "2h"
  }
}

hosts "worker" {
  range   = "1-8"
  address = "worker-${id}.busy.example"
  pool    = "worker"
}

hosts "render" {
  range   = "1-3"
  address = "render-${id}.busy.example"
  pool    = "render"
}
