# A site as a periodic batch job of Nomad, with the OCI image of holdfast. docs/fleet.md explains it.
# The host volume holdfast-berlin keeps the identity of the bastion and its journals; its owner is 65532. The folder of the site and the key
# are on the client, below /srv/holdfast. The block ssh of the inventory has identity = "/etc/holdfast/key/id_ed25519".
job "holdfast-berlin" {
  type = "batch"

  periodic {
    crons            = ["30 2 * * *"]
    time_zone        = "Europe/Berlin"
    prohibit_overlap = true
  }

  group "holdfast" {
    restart { # the next night continues; a person looks first
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }

    volume "state" {
      type   = "host"
      source = "holdfast-berlin"
    }

    task "apply" {
      driver       = "docker"
      kill_timeout = "45m" # SIGTERM brings each host to a safe point first; max_kill_timeout of the client must allow it
      kill_signal  = "SIGTERM"

      config {
        image           = "registry.example/holdfast:0.1.0"
        args            = ["apply", "--yes"]
        hostname        = "holdfast-berlin" # a part of the identity of the bastion: it must stay the same
        readonly_rootfs = true
        cap_drop        = ["all"]
        volumes = [
          "/srv/holdfast/berlin:/etc/holdfast/site:ro",
          "/srv/holdfast/key:/etc/holdfast/key:ro",
        ]
      }

      volume_mount {
        volume      = "state"
        destination = "/var/lib/holdfast"
      }

      env {
        HOLDFAST_VAR_commit = "0000000000000000000000000000000000000000000000000000000000000000"
      }

      resources {
        cpu    = 200
        memory = 512
      }
    }
  }
}
