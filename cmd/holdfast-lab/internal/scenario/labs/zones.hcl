# Hosts of one pool in two racks, whose names are not in the order of the racks.
pool "app" {}

host "app-0" {
  pool = "app"
  zone = "rack-b"
}
host "app-1" {
  pool = "app"
  zone = "rack-a"
}
host "app-2" {
  pool = "app"
  zone = "rack-b"
}
host "app-3" {
  pool = "app"
  zone = "rack-a"
}
host "app-4" {
  pool = "app"
  zone = "rack-a"
}
