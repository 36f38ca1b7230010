# The lab's own site: three etcd members in three racks and two workers.
etcd_cluster "main" {}

pool "etcd" {}
pool "worker" {}

host "etcd-0" {
  pool         = "etcd"
  etcd_cluster = "main"
  zone         = "rack-a"
}
host "etcd-1" {
  pool         = "etcd"
  etcd_cluster = "main"
  zone         = "rack-b"
}
host "etcd-2" {
  pool         = "etcd"
  etcd_cluster = "main"
  zone         = "rack-c"
}

hosts "worker" {
  range = "01-02"
  pool  = "worker"
}
