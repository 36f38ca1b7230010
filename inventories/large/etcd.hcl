# Two etcd clusters. Their roll-outs do not wait for each other: one member of
# each may be away at the same time, as far as the pool's max_unavailable goes.

etcd_cluster "apps" {
  tls {
    ca   = "/etc/etcd/ca.crt"
    cert = "/etc/etcd/peer.crt"
    key  = "/etc/etcd/peer.key"
  }
}

etcd_cluster "events" {
  client_port = 2389
  tls {
    ca   = "/etc/etcd/ca.crt"
    cert = "/etc/etcd/peer.crt"
    key  = "/etc/etcd/peer.key"
  }
}

pool "etcd" {
  max_unavailable = 2
  os {
    driver = "ostree"
    remote = "large"
    ref    = "large/stable"
    commit = var.commit
  }
}

hosts "apps-etcd" {
  range        = "0-4"
  address      = "apps-etcd-${id}.${local.domain}"
  pool         = "etcd"
  etcd_cluster = "apps"
}

hosts "events-etcd" {
  range        = "0-2"
  address      = "events-etcd-${id}.${local.domain}"
  pool         = "etcd"
  etcd_cluster = "events"
}
