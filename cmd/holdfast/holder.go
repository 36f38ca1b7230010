package main

import (
	"os"
	"os/user"
)

// holder names who runs holdfast, and where: user@bastion.
func holder() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if sudoer := os.Getenv("SUDO_USER"); sudoer != "" {
		name = sudoer
	}
	host, err := os.Hostname()
	if err != nil {
		host = "bastion"
	}
	return name + "@" + host
}
