package netns

import (
	"context"
	"fmt"
	"net"
)

// Machine returns the container name of a host. The name is short, because the
// kernel limits interface names to 15 characters.
func Machine(index int) string { return fmt.Sprintf("lab%d", index) }

// Tap returns the name of the port of a host in qemu.
func Tap(index int) string { return "tap-" + Machine(index) }

// AddTap makes the port of a host in qemu unless it exists. The caller must be inside the namespace, and then plugs it in.
func AddTap(ctx context.Context, index int) error {
	if _, err := net.InterfaceByName(Tap(index)); err == nil {
		return nil
	}
	return runIP(ctx, "tuntap", "add", "dev", Tap(index), "mode", "tap")
}

// Plug connects or disconnects the cable of a host: it sets the carrier of the
// port. The caller must be inside the namespace. A missing port is not an error.
func Plug(ctx context.Context, index int, connected bool) error {
	for _, port := range []string{"vb-" + Machine(index), "ve-" + Machine(index), Tap(index)} {
		if _, err := net.InterfaceByName(port); err != nil {
			continue
		}
		args := []string{"link", "set", "dev", port, "down"}
		if connected {
			args = []string{"link", "set", "dev", port, "master", Bridge, "up"}
		}
		if err := runIP(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}
