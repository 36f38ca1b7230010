# One machine with the only member of its etcd cluster. While it reboots there
# is no etcd. holdfast refuses that unless it is allowed:
#
#   holdfast plan -i single-node.hcl --var commit=COMMIT

site "edge" {
  ssh {
    user        = "core"
    known_hosts = "known_hosts" # always strict: collect the keys first
    become      = "sudo"
  }
}

variable "commit" {}

etcd_cluster "edge" {
  allow_outage = true # for one or two voters; a cluster of three never needs it
  tls {
    ca   = "/etc/etcd/ca.crt"
    cert = "/etc/etcd/peer.crt"
    key  = "/etc/etcd/peer.key"
  }
}

# No remote and ref: those that the host follows already.
pool "edge" {
  os {
    driver = "ostree"
    commit = var.commit
  }
}

host "edge-0" {
  address      = "192.0.2.10"
  pool         = "edge"
  etcd_cluster = "edge"
}
