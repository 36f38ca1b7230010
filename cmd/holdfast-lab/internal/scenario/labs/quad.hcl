# Four hosts without etcd, in two pools.
pool "app" {}
pool "db" {}

hosts "app" {
  range = "0-2"
  pool  = "app"
}
host "db-0" {
  pool = "db"
}
