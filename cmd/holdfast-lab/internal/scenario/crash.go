package scenario

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/lab"
)

// A script that writes to a host stops at the point that faultFile names.
const (
	faultFile = "/run/holdfast/fault"
	faultHit  = "/run/holdfast/fault-hit"
	faultGo   = "/run/holdfast/fault-go"
)

// hitTime limits how long a host may take to reach a point.
const hitTime = 40 * time.Second

func cmdFault(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "fault HOST POINT")
	s := stageOf(ts)
	ts.Check(s.setFault(s.findHost(ts, args[0]), args[1]))
}

func (s *stage) setFault(h *lab.Host, point string) error {
	_, err := h.Output(s.ctx, fmt.Sprintf(`sudo sh -c 'mkdir -p -m 0700 /run/holdfast; rm -f %s %s; echo "%s" >%s'`, faultHit, faultGo, point, faultFile))
	return err
}

func cmdHit(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "hit HOST")
	s := stageOf(ts)
	ts.Check(s.awaitFault(s.findHost(ts, args[0])))
}

func (s *stage) awaitFault(h *lab.Host) error {
	return s.waitUntilOK(hitTime, func() error {
		_, err := h.Output(s.ctx, "sudo test -e "+faultHit)
		if err != nil {
			return fmt.Errorf("%s has not come to its fault: %w", h.Name, err)
		}
		return nil
	})
}

func cmdResume(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "resume HOST")
	s := stageOf(ts)
	ts.Check(s.resumeWrite(s.findHost(ts, args[0])))
}

func (s *stage) resumeWrite(h *lab.Host) error {
	_, err := h.Output(s.ctx, "sudo touch "+faultGo)
	return err
}

// crashes changes hosts from one configuration to another and back, interrupts
// the writes at points, and checks that the next run completes them.
type crashes struct {
	*stage
	ts       *testscript.TestScript
	power    bool // hosts lose power; if false, holdfast is killed
	document string
	versions [2]string // files with the old and the new document
	trees    [2]string // names of the trees of the hosts after each version
	hosts    []string
}

// cmdCrash interrupts writes at each point. It tries as many points at the same
// time as there are hosts.
func cmdCrash(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 6 || args[0] != "bastion" && args[0] != "power" {
		ts.Fatalf("usage: crash bastion|power DOCUMENT OLD NEW HOST,… POINT…")
	}
	c := &crashes{
		stage: stageOf(ts), ts: ts, power: args[0] == "power", document: args[1],
		versions: [2]string{args[2], args[3]}, trees: [2]string{"old", "new"}, hosts: strings.Split(args[4], ","),
	}
	for i := range c.versions {
		c.applyVersion(i)
		cmdTree(ts, false, append([]string{c.trees[i]}, c.hosts...))
	}
	c.applyVersion(0)
	cmdSame(ts, false, append([]string{c.trees[0]}, c.hosts...))
	way := 1
	for points := range slices.Chunk(args[5:], len(c.hosts)) {
		c.crashAt(points, way)
		if !c.power {
			c.crashAt(points, 1-way)
			continue
		}
		way = 1 - way // only one way for each point, because a boot is slow
	}
	if way == 0 {
		c.applyVersion(0)
	}
}

func (c *crashes) setDocument(version int) {
	text := c.ts.ReadFile(c.versions[version])
	c.ts.Check(os.WriteFile(c.ts.MkAbs(c.document), []byte(text), 0o600))
}

func (c *crashes) applyVersion(version int) {
	c.setDocument(version)
	cmdHoldfast(c.ts, false, []string{"0", "apply", "--yes"})
}

func (c *crashes) crashAt(points []string, version int) {
	hosts := c.hosts[:len(points)]
	c.ts.Logf("crash on the way to %s: %q", c.versions[version], points)
	for i, name := range hosts {
		c.ts.Check(c.setFault(c.findHost(c.ts, name), points[i]))
	}
	c.setDocument(version)
	cmdStart(c.ts, false, []string{"crash", "apply", "--yes"})
	for i, name := range hosts {
		if err := c.awaitPoint(name); err != nil {
			text, _ := c.jobs["crash"].out.textSoFar()
			c.ts.Fatalf("%s: %v; it printed:\n%s", points[i], err, text)
		}
		c.checkNotHalfWritten(name, points[i])
	}
	cmdSignal(c.ts, false, []string{"crash", "KILL"})
	delete(c.jobs, "crash")
	if c.power {
		c.losePower(hosts)
	}
	for i, name := range hosts {
		if !c.power {
			h := c.findHost(c.ts, name)
			c.ts.Check(c.resumeWrite(h))
			_, err := h.Output(c.ctx, "sudo flock -w 60 /var/lib/holdfast/write.lock true")
			c.ts.Check(err)
		}
		c.checkNotHalfWritten(name, points[i])
	}
	cmdHoldfast(c.ts, false, []string{"0", "apply", "--yes"})
	cmdSame(c.ts, false, append([]string{c.trees[version]}, hosts...))
	cmdFree(c.ts, false, hosts)
	cmdHoldfast(c.ts, false, []string{"0", "apply", "--yes"})
	if out := c.ts.ReadFile("stdout"); !strings.Contains(out, "Nothing to do") {
		c.ts.Fatalf("after a crash at %q there is something to do once more:\n%s", points, out)
	}
}

// awaitPoint waits until a host has reached its point. It returns an error if the
// run ends before that.
func (c *crashes) awaitPoint(name string) error {
	h, j := c.findHost(c.ts, name), c.jobs["crash"]
	return c.waitUntilOK(hitTime, func() error {
		_, err := h.Output(c.ctx, "sudo test -e "+faultHit)
		if err != nil {
			select {
			case <-j.done:
				c.ts.Fatalf("holdfast ended before %s came to its point", name)
			default:
			}
		}
		return err
	})
}

func (c *crashes) losePower(hosts []string) {
	for _, name := range hosts {
		c.ts.Check(c.findHost(c.ts, name).Power(c.ctx, lab.Lossy))
	}
	for _, name := range hosts {
		c.ts.Check(c.findHost(c.ts, name).Power(c.ctx, lab.On))
	}
	cmdUp(c.ts, false, hosts)
}

func (c *crashes) checkNotHalfWritten(name, point string) {
	t, err := c.readTree(c.findHost(c.ts, name))
	c.ts.Check(err)
	wrong := t.diffFromBoth(c.stage.trees[c.trees[0]+" "+name], c.stage.trees[c.trees[1]+" "+name])
	if len(wrong) > 0 {
		c.ts.Fatalf("%s at %s: half written:\n%s", name, point, strings.Join(wrong, "\n"))
	}
}
