pool "worker" {
  after           = ["etcd"]
  max_unavailable = "5%"
  os {
    driver = "ostree"
    remote = "large"
    ref    = "large/stable"
    commit = var.commit
  }
  drain "scheduler" {
    command = "/usr/local/bin/drain $HOLDFAST_HOST"
    undo    = "/usr/local/bin/undrain $HOLDFAST_HOST"
    timeout = "30m"
  }
  gate "ceph" {
    command = "ceph health | grep -q HEALTH_OK"
    when    = ["before-batch", "after-host"]
    timeout = "20m"
  }
  timeouts {
    reboot = "30m" # these machines count their memory
  }
}

hosts "row-a" {
  range   = "001-200"
  address = "row-a-${id}.${local.domain}"
  pool    = "worker"
  zone    = "row-a"
}

hosts "row-b" {
  range   = "001-200"
  address = "row-b-${id}.${local.domain}"
  pool    = "worker"
  zone    = "row-b"
}
