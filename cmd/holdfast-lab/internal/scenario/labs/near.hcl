# A worker in qemu, with a kernel of its own, that can be near the etcd member in a container.
etcd_cluster "main" {}

pool "etcd" {}
pool "worker" {}

host "etcd-0" {
  pool         = "etcd"
  etcd_cluster = "main"
}

host "worker-0" {
  pool    = "worker"
  machine = "qemu"
}
