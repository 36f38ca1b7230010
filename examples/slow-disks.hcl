# OS updates of hosts whose etcd is on a slow disk, or shares one. Without the
# blocks metrics, latency and timeouts, the defaults of docs/etcd-staging.md apply.

site "slow" {
  ssh {
    user   = "core"
    become = "sudo"
  }
  mirror {
    repository = "mirror"
  }
}

variable "commit" {}

etcd_cluster "main" {
  tls {
    ca   = "/etc/etcd/ca.crt"
    cert = "/etc/etcd/peer.crt"
    key  = "/etc/etcd/peer.key"
  }

  # etcd runs with --listen-metrics-urls=http://127.0.0.1:2381. holdfast reads the
  # metrics each second while it stages a host. A listener of their own keeps
  # that off the client port.
  metrics {
    port = 2381
  }

  # Members whose fsyncs take 12 ms when nothing is staged need no block: holdfast
  # then raises their limit to 15 ms. This cluster may become slower, but not for long.
  latency {
    wal_fsync_p99      = "20ms"
    backend_commit_p99 = "40ms"
    abort_after        = "2m"
  }
}

pool "etcd" {
  os {
    driver = "ostree"
    source = "bastion"
    ref    = "slow/stable"
    commit = var.commit
  }

  # The slower the disk, the longer a governed staging takes. A staging that
  # takes longer than this stops, and keeps what it has fetched for the next run.
  timeouts {
    stage = "3h"
  }
}

pool "storage" {
  os {
    driver = "ostree"
    source = "bastion"
    ref    = "slow/stable"
    commit = var.commit
  }
}

hosts "etcd" {
  range        = "0-2"
  address      = "10.0.0.1${id}"
  pool         = "etcd"
  etcd_cluster = "main"
}

# The disk of etcd-0 is exported by this host. It has no member, but its staging
# slows that one down, so it takes its turn and keeps to the same limits.
host "storage-0" {
  address           = "10.0.0.20"
  pool              = "storage"
  near_etcd_cluster = "main"
}
