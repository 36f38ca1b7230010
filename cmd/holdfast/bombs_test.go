package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
)

// measureProgram runs the program with the other arguments, and prints its peak
// memory and its processor time at the end. It is a process of its own because
// the peak of a child is at least that of the process that starts it.
func measureProgram() {
	cmd := exec.Command(os.Args[0])
	cmd.Args = append([]string{"holdfast"}, os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Run() // the exit code is checked below
	var peak int64
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = use.Maxrss >> 10
	}
	fmt.Fprintf(os.Stdout, "measured: exit %d, %d MiB, %.1f s of processor time\n", cmd.ProcessState.ExitCode(), peak, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	os.Exit(0)
}

// gzipZeros returns that number of MiB of compressed zeros, as members of at most 64 MiB.
func gzipZeros(t *testing.T, mib int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for range min(mib, 64) {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.Repeat(b.Bytes(), max(1, mib/64))
}

// bombSite makes an inventory of one host with documents that have the given
// numbers of files of compressed zeros.
func bombSite(t *testing.T, documents, files, mib int) (inventory string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	source := base64.StdEncoding.EncodeToString(gzipZeros(t, mib))
	for i := range documents {
		var doc bytes.Buffer
		for j := range files {
			fmt.Fprintf(&doc, `,{"path":"/opt/%d-%d","contents":{"compression":"gzip","source":"data:;base64,%s"}}`, i, j, source)
		}
		text := io.MultiReader(strings.NewReader(`{"ignition":{"version":"3.4.0"},"storage":{"files":[`), bytes.NewReader(doc.Bytes()[1:]), strings.NewReader("]}}"))
		data, err := io.ReadAll(text)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "docs", fmt.Sprintf("d%03d.ign", i)), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	inventory = filepath.Join(dir, "site.hcl")
	text := "site \"s\" {}\npool \"p\" { configs = [\"docs\"] }\nhost \"h\" {\n  address = \"h\"\n  pool    = \"p\"\n}\n"
	if err := os.WriteFile(inventory, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return inventory
}

// TestBombsInDocuments measures the peak memory of the program while it refuses
// documents that unpack to many GiB.
func TestBombsInDocuments(t *testing.T) {
	if longtest.RaceDetector {
		t.Skip("the race detector multiplies the memory")
	}
	for _, c := range []struct {
		name                  string
		documents, files, mib int
		want                  string
		most                  int // MiB
		slow                  bool
	}{
		{"one", 1, 1, 10 << 10, "d000.ign:1:114: storage.files[0].contents.source: has more than 64 MiB; put files of that size into the OS image", 256, false},
		{"many in one document", 1, 100, 128, " storage.files[7].contents.source: exceeds the limit of 512 MiB for the contents of this document; put files of that size into the OS image", 256, true},
		{"as many documents as fit, and more", 40, 8, 64, ".ign:1:114: storage.files[0].contents.source: exceeds the limit of 2048 MiB for the contents of all documents", 2048 + 512, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.slow {
				longtest.SkipSlow(t)
			}
			p := startProgram(t, "measure-in-tests", "validate", "-i", bombSite(t, c.documents, c.files, c.mib))
			_ = p.Wait() // the output has the exit code
			refusals, measured, _ := strings.Cut(p.text(), "measured: ")
			code, peak, cpu := -1, 0, 0.0
			if _, err := fmt.Sscanf(measured, "exit %d, %d MiB, %f s", &code, &peak, &cpu); err != nil {
				t.Fatalf("%v: %s", err, p.text())
			}
			t.Logf("%d documents with %d × %d MiB: %d MiB at most, %.1f s of processor time", c.documents, c.files, c.mib, peak, cpu)
			if code != int(engine.ExitUsage) || !strings.Contains(refusals, c.want) {
				t.Errorf("exit %d: %.2000s", code, refusals)
			}
			if peak > c.most {
				t.Errorf("%d MiB of memory, at most %d", peak, c.most)
			}
		})
	}
}
