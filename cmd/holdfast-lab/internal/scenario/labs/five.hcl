# Five etcd members.
etcd_cluster "main" {}

pool "etcd" {}

hosts "etcd" {
  range        = "0-4"
  pool         = "etcd"
  etcd_cluster = "main"
}
