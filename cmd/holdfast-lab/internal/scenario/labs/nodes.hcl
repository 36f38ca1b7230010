# A cluster of Kubernetes: three etcd members and four workers.
etcd_cluster "main" {}

pool "etcd" {}
pool "worker" {}

hosts "etcd" {
  range        = "0-2"
  pool         = "etcd"
  etcd_cluster = "main"
}

hosts "worker" {
  range = "1-4"
  pool  = "worker"
}
