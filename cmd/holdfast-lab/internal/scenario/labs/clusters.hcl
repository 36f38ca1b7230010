# Two pools of workers, for two clusters of Kubernetes, and the etcd of both.
etcd_cluster "main" {}

pool "etcd" {}
pool "web" {}
pool "batch" {}

host "etcd-0" {
  pool         = "etcd"
  etcd_cluster = "main"
}

hosts "web" {
  range = "1-2"
  pool  = "web"
}

hosts "batch" {
  range = "1-2"
  pool  = "batch"
}
