# Three etcd members and a worker.
etcd_cluster "main" {}

pool "etcd" {}
pool "worker" {}

hosts "etcd" {
  range        = "0-2"
  pool         = "etcd"
  etcd_cluster = "main"
}
host "worker-0" {
  pool = "worker"
}
