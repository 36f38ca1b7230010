package lab

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRegistryFindsGoneLabs checks that a lab counts as gone when its lab.json is gone, and not before.
func TestRegistryFindsGoneLabs(t *testing.T) {
	t.Parallel()
	r, down := registry(filepath.Join(t.TempDir(), "labs")), makeFolder(t, "lab.json")
	kept, gone, file := makeFolder(t, "lab.json"), makeFolder(t, "lab.json"), filepath.Join(makeFolder(t, "file"), "file")
	if err := errors.Join(r.removeLab("none", "/nowhere"), r.addLab("kept", kept), r.addLab("gone", gone), r.addLab("file", file), r.addLab("down", down), r.removeLab("down", down)); err != nil {
		t.Fatal(err)
	}
	if got, err := r.listGone(); err != nil || len(got) != 1 || got["file"] != file {
		t.Errorf("%v, %v", got, err)
	}
	if left := listNames(t, down); left != "" {
		t.Errorf("a lab that is down has %s", left)
	}
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	if got, err := r.listGone(); err != nil || len(got) != 2 || got["gone"] != gone {
		t.Errorf("%v, %v", got, err)
	}
}

// TestEndPrograms checks that a program whose file is removed is ended, and one whose file is there is not.
func TestEndPrograms(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	if sleep, err = filepath.EvalSymlinks(sleep); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "sleep")
	if out, err := exec.Command("cp", sleep, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program, "600")
	cmd.Args[0] = "sleep" // programs with several names look at this one
	output, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := endPrograms(t.Context(), program); err != nil || len(listPrograms(program)) != 1 {
		t.Errorf("%v; or it was ended", err)
	}
	if err := errors.Join(os.Remove(program), endPrograms(t.Context(), program)); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(output); err != nil || len(rest) > 0 { // ends with the program
		t.Errorf("%q, %v", rest, err)
	}
	_ = cmd.Wait()
}
