package observe_test

import (
	"slices"
	"testing"

	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe/observetest"
)

// The probe finds directories in memory, unless the whole host is in memory.
func TestDirectoriesInMemoryAreFound(t *testing.T) {
	for state, want := range map[string][]string{"ext2/ext3": {"/srv/mem"}, "tmpfs": nil} {
		s := observetest.NewHost(t)
		s.WriteFile("/srv/mem/x", "", 0o644)
		s.WriteFile("/fake/stat", "#!/bin/sh\n[ \"$1\" = -f ] || exec "+observetest.ToolPath(t, "stat")+` "$@"
format=$3
shift 4
for dir; do
	case $format:$dir in
	%T:*) echo `+state+` ;;
	*:./srv/mem) printf 'tmpfs\t%s\n' "$dir" ;;
	*) printf 'ext2/ext3\t%s\n' "$dir" ;;
	esac
done
`, 0o755)
		f := s.MustRead(resource.Config{Files: []resource.File{observetest.EmptyFile("/srv/mem/x"), observetest.EmptyFile("/etc/y")}})
		if !slices.Equal(f.Fleeting, want) {
			t.Errorf("%s: %q", state, f.Fleeting)
		}
	}
}
