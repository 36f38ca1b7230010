package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/sys/unix"
)

// monitor is a connection to qemu in the QEMU Machine Protocol. One goroutine uses it.
type monitor struct {
	conn    net.Conn
	reader  conc.WaitGroup
	answers chan monitorMessage
	reason  string // why qemu ends; the reader writes it
}

// monitorMessage is a message of qemu: the answer to a command, or an event.
type monitorMessage struct {
	Event string `json:"event"`
	Data  struct {
		Reason string `json:"reason"`
	} `json:"data"`
	Error *struct {
		Desc string `json:"desc"`
	} `json:"error"`
	Return *json.RawMessage `json:"return"`
}

const (
	// monitorFD is the file descriptor of the monitor in qemu.
	monitorFD = 3
	// monitorTimeout limits the wait for an answer.
	monitorTimeout = 30 * time.Second
	// guestReset is the reason of an end that is a reboot of the guest.
	guestReset = "guest-reset"
)

// startMonitored starts qemu with a monitor.
func startMonitored(cmd *exec.Cmd) (*monitor, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	own, other := os.NewFile(uintptr(pair[0]), "monitor"), os.NewFile(uintptr(pair[1]), "monitor")
	defer func() { _ = other.Close() }()
	conn, err := net.FileConn(own) // a copy
	if err := errors.Join(err, own.Close()); err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{other}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return openMonitor(conn), nil
}

// openMonitor reads what qemu sends until the connection ends. The first command ends the negotiation.
func openMonitor(conn net.Conn) *monitor {
	m := &monitor{conn: conn, answers: make(chan monitorMessage, 16)}
	m.reader.Go(m.readMessages)
	_, _ = fmt.Fprintln(conn, `{"execute":"qmp_capabilities"}`) // if qemu has ended, so does the host
	return m
}

func (m *monitor) readMessages() {
	defer close(m.answers)
	for decoder := json.NewDecoder(m.conn); ; {
		var got monitorMessage
		if err := decoder.Decode(&got); err != nil {
			return
		}
		switch {
		case got.Event == "SHUTDOWN":
			m.reason = got.Data.Reason
		case got.Return != nil || got.Error != nil:
			select {
			case m.answers <- got:
			default: // nobody has waited for the last ones
			}
		}
	}
}

// tell gives qemu a command, and returns its error.
func (m *monitor) tell(command string) error {
	for len(m.answers) > 0 {
		<-m.answers // to an earlier command
	}
	if _, err := fmt.Fprintf(m.conn, "{\"execute\":%q}\n", command); err != nil {
		return fmt.Errorf("tell qemu %s: %w", command, err)
	}
	select {
	case got, ok := <-m.answers:
		switch {
		case !ok:
			return fmt.Errorf("tell qemu %s: it has ended", command)
		case got.Error != nil:
			return fmt.Errorf("tell qemu %s: %s", command, got.Error.Desc)
		}
		return nil
	case <-time.After(monitorTimeout):
		return fmt.Errorf("tell qemu %s: no answer within %s", command, monitorTimeout)
	}
}

// waitEnd returns the reason why qemu has ended, or "" if it gave none.
func (m *monitor) waitEnd() string {
	m.reader.Wait()
	_ = m.conn.Close()
	return m.reason
}
