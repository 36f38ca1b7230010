# sudo wants a password. It comes from a command here; become_password_file
# names a file instead, and holdfast -K asks for it. It is written to sudo's
# standard input, never to a command line, and appears nowhere. With several
# ways at hand, -K wins, then that of the nearest ssh block.

site "strict" {
  ssh {
    user                    = "ops"
    become                  = "sudo"
    become_password_command = "pass show site/sudo"
  }
}

variable "commit" {}

pool "worker" {
  os {
    driver = "ostree"
    commit = var.commit
  }
}

host "strict-0" {
  address = "10.8.0.10"
  pool    = "worker"
}
