# Seven hosts for etcd.
etcd_cluster "main" {}

pool "etcd" {}

hosts "etcd" {
  range        = "0-6"
  pool         = "etcd"
  etcd_cluster = "main"
}
