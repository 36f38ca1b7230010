# Three machines, each a member of one etcd cluster, and some workers. Start
# from this one.
#
#   holdfast plan -i three-nodes.hcl --var commit=COMMIT
#
# COMMIT is what ostree rev-parse site/stable prints where the OS is built.

site "small" {
  ssh {
    user        = "core"
    known_hosts = "known_hosts"       # always strict: collect the keys first
    identity    = "~/.ssh/id_ed25519" # or leave it out and use the agent
    become      = "sudo"
  }
}

variable "commit" {}

etcd_cluster "main" {
  tls {
    # Paths on the members. A client certificate is enough.
    ca   = "/etc/etcd/ca.crt"
    cert = "/etc/etcd/peer.crt"
    key  = "/etc/etcd/peer.key"
  }
}

# Members go one at a time, whatever max_unavailable says, and only while all
# others are healthy.
pool "etcd" {
  os {
    driver = "ostree"
    remote = "site"
    ref    = "site/stable"
    commit = var.commit
  }
}

pool "worker" {
  after           = ["etcd"] # not before the members match
  max_unavailable = "10%"    # rounds down, but is at least 1
  os {
    driver = "ostree"
    remote = "site"
    ref    = "site/stable"
    commit = var.commit
  }
}

# A zone is a rack, row or room. A batch keeps to one zone of a pool, so that
# a bad update does not reach two of them at once.
host "etcd-0" {
  address      = "10.0.0.10"
  pool         = "etcd"
  etcd_cluster = "main" # a host is a member because it says so
  zone         = "rack-a"
}

host "etcd-1" {
  address      = "10.0.0.11"
  pool         = "etcd"
  etcd_cluster = "main"
  zone         = "rack-b"
}

host "etcd-2" {
  address      = "10.0.0.12"
  pool         = "etcd"
  etcd_cluster = "main"
  zone         = "rack-c"
}

hosts "worker" { # worker-11 to worker-22
  range   = "11-22"
  address = "10.0.1.${id}"
  pool    = "worker"
}
