# Three etcd members, and a cluster of one.
etcd_cluster "main" {}
etcd_cluster "one" {}

pool "etcd" {}
pool "single" {}

hosts "etcd" {
  range        = "0-2"
  pool         = "etcd"
  etcd_cluster = "main"
}
host "single-0" {
  pool         = "single"
  etcd_cluster = "one"
}
