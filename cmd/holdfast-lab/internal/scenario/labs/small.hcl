# Clusters that cannot lose a member: one voter, and two.
etcd_cluster "one" {}
etcd_cluster "two" {}

pool "single" {}
pool "pair" {}

host "single-0" {
  pool         = "single"
  etcd_cluster = "one"
}

hosts "pair" {
  range        = "0-1"
  pool         = "pair"
  etcd_cluster = "two"
}
