package netns

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
)

// Machine is the container name of a host. It is short because the kernel
// allows interface names of 15 characters only.
func Machine(index int) string { return fmt.Sprintf("lab%d", index) }

// Plug connects (or disconnects) the cable of a host: its port gets or loses
// its carrier. It must be called from a process inside the namespace, and it
// is no error if the port does not exist yet.
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
