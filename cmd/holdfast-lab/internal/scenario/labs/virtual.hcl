# A worker in qemu, with a kernel of its own.
pool "worker" {}

host "worker-0" {
  pool    = "worker"
  machine = "qemu"
}
