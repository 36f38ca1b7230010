package observe_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe"
	"holdfast/modules/hostconfig/observe/observetest"
)

// answerOf returns a host with n files of 4 KiB, a desired state with these
// files, and the output of its probe.
func answerOf(tb testing.TB, n int) (observetest.Host, engine.Desired, engine.Outputs) {
	s := observetest.NewHost(tb)
	c := resource.Config{}
	for i := range n {
		text := strings.Repeat(fmt.Sprintf("%07d\n", i), 512)
		f := resource.File{Path: fmt.Sprintf("/etc/holdfast-test.d/%03d/%05d.conf", i%100, i), Digest: resource.Digest([]byte(text))}
		s.WriteFile(f.Path, text, 0o644)
		c.Files = append(c.Files, f)
	}
	s.WriteRecord(resource.Record{Schema: 1, Config: c})
	d := engine.Desired{Config: &c}
	return s, d, s.Probe(d)
}

func TestManyFiles(t *testing.T) {
	longtest.SkipSlow(t)
	_, d, outputs := answerOf(t, 500)
	f := observe.Read(d, outputs, engine.Facts{}).Config
	if f.Problem != "" || len(f.Nodes) != 500 {
		t.Fatal(f.Problem, len(f.Nodes))
	}
	for _, want := range d.Config.Files {
		if f.Nodes[want.Path].Digest != want.Digest {
			t.Fatalf("%s: %+v", want.Path, f.Nodes[want.Path])
		}
	}
}

func BenchmarkConfigRead(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			_, d, outputs := answerOf(b, n)
			for b.Loop() {
				if f := observe.Read(d, outputs, engine.Facts{}); f.Config.Problem != "" {
					b.Fatal(f.Config.Problem)
				}
			}
			b.ReportMetric(float64(len(outputs[observe.ProbeName].Stdout)), "bytes/answer")
		})
	}
}

// BenchmarkLook measures how long the probe of the configuration runs on the
// host.
func BenchmarkLook(b *testing.B) {
	for _, n := range []int{0, 500, 10000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			s, d, _ := answerOf(b, n)
			for b.Loop() {
				s.Probe(d)
			}
		})
	}
}
