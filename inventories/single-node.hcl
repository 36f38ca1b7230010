# One machine with the only member of its etcd cluster. Its etcd is away while
# it reboots; that has to be allowed.

site "edge" {
  ssh {
    user   = "core"
    become = "sudo"
  }
}

variable "commit" {}

etcd_cluster "edge" {
  allow_outage = true
}

pool "all" {
  os {
    driver = "ostree"
    commit = var.commit
  }
}

host "edge-0" {
  address      = "192.0.2.10"
  pool         = "all"
  etcd_cluster = "edge"
}
