# A site that rolls out at night: a few hosts first, then rack by rack, with
# questions in between, and a stop before one mistake is made on every host.

site "careful" {
  ssh {
    user   = "core"
    become = "sudo"
  }

  # Of all pools together, beside what each pool allows.
  max_unavailable = "5%"

  # When hosts may be disrupted: for pools without a window of their own. What is
  # staged beforehand is not bound to it.
  window {
    days     = ["mon-thu", "sun"] # on which it opens
    from     = "22:00"
    to       = "04:00" # on the next day
    timezone = "Europe/Berlin"
  }
}

variable "commit" {}

etcd_cluster "main" {}

pool "etcd" {
  os {
    driver  = "ostree"
    commit  = var.commit
    version = "4.16.3" # for max_skew, as this OS has no label that says it
  }
}

pool "worker" {
  after           = ["etcd"]
  max_unavailable = "10%"
  max_skew        = 1    # minor versions that workers may be behind or ahead of etcd hosts
  failure_budget  = 2    # with a third host that fails, no other is begun
  batch_takes     = "1h" # none begins after 03:00
  on_failure      = "rollback"
  os {
    driver  = "ostree"
    commit  = var.commit
    version = "4.16.3"
  }

  # Seconds in place of a full boot, for changes and hosts where that is enough.
  reboot {
    soft = "auto"
  }

  # Two hosts go alone. The others follow half an hour after they are back, if
  # the gates after them are passed.
  canary {
    hosts = 2
    soak  = "30m"
  }

  # Asked once, before anything is touched.
  gate "freeze" {
    when = ["before-run"]
    http {
      url    = "https://changes.careful.example/freeze/{pool}"
      status = 200
      match  = "^open"
    }
  }

  # A command on the bastion.
  gate "ceph" {
    command = "ceph health | grep -q HEALTH_OK"
    when    = ["before-batch", "after-host"]
    timeout = "30m"
  }

  # A command on each host, as root: three good answers in a row, ten seconds
  # apart, after at most 20 bad ones.
  gate "storage" {
    host_command = "systemctl is-active --quiet ceph-osd.target"
    when         = ["after-host"]
    interval     = "10s"
    retries      = 20
    successes    = 3
  }

  # What the host itself serves.
  gate "app" {
    when = ["after-host"]
    http { url = "http://{address}:8080/healthz" }
  }

  # Good if the query gives anything, which a comparison does where it holds.
  # Without an error there is no series to add up, so that it takes the 0.
  gate "errors" {
    when    = ["after-batch"]
    timeout = "15m"
    promql {
      url   = "https://prometheus.careful.example"
      query = <<-END
        (sum(rate(http_requests_total{pool="{pool}", code=~"5.."}[5m])) or vector(0))
          / sum(rate(http_requests_total{pool="{pool}"}[5m])) < 0.01
      END
    }
  }
}

# Machines in shops: at any hour on Sundays, in the order in which they stand
# here, and only as many failures as one in twenty.
pool "shop" {
  failure_budget = "5%"
  order          = "inventory"
  os {
    driver = "ostree"
    commit = var.commit
  }
  window {
    days     = "sun"
    from     = "00:00"
    to       = "24:00"
    timezone = "Europe/Berlin"
  }
}

# Nothing is done about a paused pool. It is named at the start and at the end of
# every run, and none is complete.
pool "lab" {
  paused = true
  os {
    driver = "ostree"
    commit = var.commit
  }
}

hosts "etcd" {
  range        = "1-3"
  address      = "etcd-${id}.careful.example"
  pool         = "etcd"
  etcd_cluster = "main"
}

hosts "worker" {
  range   = "01-20"
  address = "worker-${id}.careful.example"
  pool    = "worker"
  zone    = "rack-a"
}

hosts "worker" {
  range   = "21-40"
  address = "worker-${id}.careful.example"
  pool    = "worker"
  zone    = "rack-b"
  paused  = contains(["33", "34"], id) # new memory is on its way
}

hosts "shop" {
  range   = "1-60"
  address = "shop-${id}.careful.example"
  pool    = "shop"
}

hosts "lab" {
  range   = "1-2"
  address = "lab-${id}.careful.example"
  pool    = "lab"
}
