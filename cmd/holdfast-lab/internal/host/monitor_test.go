package host

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/sourcegraph/conc"
)

// TestMonitor checks that the answers of qemu are told from its events, and that the end of a guest has its reason.
func TestMonitor(t *testing.T) {
	ours, theirs := net.Pipe()
	var qemu conc.WaitGroup
	defer qemu.Wait()
	qemu.Go(func() {
		lines := bufio.NewScanner(theirs)
		for _, c := range []struct{ want, says string }{
			{`"qmp_capabilities"`, `{"return": {}}`},
			{`"stop"`, `{"event": "STOP"}` + "\n" + `{"return": {}}`},
			{`"cont"`, `{"error": {"class": "GenericError", "desc": "no such machine"}}`},
			{`"system_powerdown"`, `{"return": {}}` + "\n" + `{"event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-reset"}}`},
		} {
			if !lines.Scan() || !strings.Contains(lines.Text(), c.want) {
				t.Errorf("qemu was told %q, want %s", lines.Text(), c.want)
			}
			_, _ = fmt.Fprintln(theirs, c.says)
		}
		_ = theirs.Close()
	})
	m := openMonitor(ours)
	if got := <-m.answers; got.Return == nil {
		t.Errorf("answer %+v", got)
	}
	if err := m.tell("stop"); err != nil {
		t.Error(err)
	}
	if err := m.tell("cont"); err == nil || err.Error() != "tell qemu cont: no such machine" {
		t.Errorf("error %v", err)
	}
	if err := m.tell("system_powerdown"); err != nil {
		t.Error(err)
	}
	if got := m.waitEnd(); got != guestReset {
		t.Errorf("reason %q", got)
	}
	if err := m.tell("cont"); err == nil {
		t.Error("a machine that has ended is told something")
	}
}
