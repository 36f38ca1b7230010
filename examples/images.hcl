# Container images instead of ostree commits: pinned by digest, as a tag can
# move.

site "images" {
  ssh {
    user   = "core"
    become = "sudo"
  }
}

pool "bootc" {
  os {
    driver   = "bootc"
    image    = "registry.example/os/base@sha256:4d1f9c3e7a2b586001c4de92af37be45086dd1f2c3a4957be8061f5ad94c27e0"
    min_free = "6GiB"
  }
}

pool "rpm-ostree" {
  os {
    driver   = "rpm-ostree"
    image    = "registry.example/os/coreos@sha256:9c3e7a2b586001c4de92af37be45086dd1f2c3a4957be8061f5ad94c27e04d1f"
    min_free = "6GiB"
  }
}

host "b-0" {
  address = "10.7.0.10"
  pool    = "bootc"
}

host "r-0" {
  address = "10.7.0.20"
  pool    = "rpm-ostree"
}
