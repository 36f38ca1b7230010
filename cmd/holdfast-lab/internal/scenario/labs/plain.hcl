# Hosts without etcd, in two pools.
pool "app" {}
pool "db" {}

hosts "app" {
  range = "0-3"
  pool  = "app"
}
hosts "db" {
  range = "0-1"
  pool  = "db"
}
