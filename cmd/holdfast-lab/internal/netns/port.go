package netns

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
)

// Machine returns the container name of a host. The name is short, because the
// kernel limits interface names to 15 characters.
func Machine(index int) string { return fmt.Sprintf("lab%d", index) }

// Plug connects or disconnects the cable of a host: it sets the carrier of the
// port. The caller must be inside the namespace. A missing port is not an error.
func Plug(ctx context.Context, index int, connected bool) error {
	for _, port := range []string{"vb-" + Machine(index), "ve-" + Machine(index)} {
		if _, err := net.InterfaceByName(port); err != nil {
			continue
		}
		args := []string{"link", "set", "dev", port, "down"}
		if connected {
			args = []string{"link", "set", "dev", port, "master", Bridge, "up"}
		}
		out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
