package config

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/longtest"
)

// gzipBomb returns one gzip member that unpacks to mib MiB of zeros. It
// compresses one MiB and repeats the result, which refers to nothing before it.
// The checksum at the end is wrong. A reader that complains about the checksum
// has unpacked the whole bomb.
func gzipBomb(t *testing.T, mib int) []byte {
	t.Helper()
	var block bytes.Buffer
	w, err := flate.NewWriter(&block, flate.BestCompression)
	if err == nil {
		_, err = w.Write(make([]byte, 1<<20))
	}
	if err = errors.Join(err, w.Flush()); err != nil {
		t.Fatal(err)
	}
	header, end := "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", "\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	return append(append([]byte(header), bytes.Repeat(block.Bytes(), mib)...), end...)
}

// gzipMember returns a gzip member of n zeros.
func gzipMember(t *testing.T, n int) []byte {
	t.Helper()
	_, text, _ := strings.Cut(zerosURL(n), ",")
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func gzipSource(data []byte) string {
	return `{"compression":"gzip","source":"data:;base64,` + base64.StdEncoding.EncodeToString(data) + `"}`
}

// ignitionFiles returns an Ignition config with a file for each of these fields.
func ignitionFiles(name string, fields ...string) string {
	var files []string
	for i, f := range fields {
		files = append(files, fmt.Sprintf(`{"path":"/opt/%s-%d",%s}`, name, i, f))
	}
	return `{"ignition":{"version":"3.4.0"},"storage":{"files":[` + strings.Join(files, ",\n") + `]}}`
}

func repeatField(text string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = text
	}
	return list
}

// bombCase is a set of documents with bombs, and the problems that they have.
type bombCase struct {
	name  string
	files map[string]string
	want  []string // the beginning of each problem
	kept  int      // bytes of contents that may be in memory
}

// bombLimits returns the usual limits for slow tests, else limits that are 64
// times lower, and the size of large bombs in GiB.
func bombLimits(slow bool) (l limits, large int) {
	l, large = defaultLimits, 10
	if !slow {
		l.file, l.document, l.all = l.file/64, l.document/64, l.all/64
		large = 1
	}
	return l, large
}

func bombCases(t *testing.T, l limits, gigabytes int) []bombCase {
	t.Helper()
	huge, slightly, fits := gzipBomb(t, gigabytes<<10), gzipMember(t, l.file+1), gzipMember(t, l.file)
	large, document, all := fmt.Sprintf("has more than %d MiB", l.file>>20), fmt.Sprintf("exceeds the limit of %d MiB for the contents of this document", l.document>>20),
		fmt.Sprintf("exceeds the limit of %d MiB for the contents of all documents", l.all>>20)
	contents := func(data []byte) string { return `"contents":` + gzipSource(data) }
	at := func(file string, n int, text string) string {
		return fmt.Sprintf("%s:%d: storage.files[%d].contents.source: %s", file, n+1, n, text)
	}
	cases := []bombCase{
		{"one member", map[string]string{"a.ign": ignitionFiles("a", contents(huge))}, []string{at("a.ign", 0, large)}, 0},
		{"many members", map[string]string{"a.ign": ignitionFiles("a", contents(bytes.Repeat(fits, gigabytes<<30/l.file)))}, []string{at("a.ign", 0, large)}, 0},
		{"within a gzip file", map[string]string{"a.ign": ignitionFiles("a", contents(gzipText(string(slightly))))}, nil, len(slightly)},
		{"appended", map[string]string{"a.ign": ignitionFiles("a", `"append":[`+gzipSource(huge)+`]`)}, []string{"a.ign:1: storage.files[0].append[0].source: " + large}, 0},
		{
			"a MachineConfig",
			map[string]string{"a.yaml": "kind: MachineConfig\nmetadata: {name: a}\nspec:\n  config: " + ignitionFiles("a", contents(huge)) + "\n"},
			[]string{"a.yaml:4: spec.config.storage.files[0].contents.source: " + large},
			0,
		},
		{
			"a local file",
			map[string]string{"a.bu": "variant: fcos\nversion: 1.5.0\nstorage:\n  files:\n    - path: /a\n      contents: {local: bomb.gz, compression: gzip}\n", "bomb.gz": string(gzipMember(t, 16*l.file))},
			[]string{"a.bu:6: storage.files[0].contents: " + large},
			0,
		},
	}
	many := bombCase{name: "many in one document", files: map[string]string{"a.ign": ignitionFiles("a", repeatField(contents(slightly), 200)...)}}
	for i := range l.document/l.file - 1 {
		many.want = append(many.want, at("a.ign", i, large))
	}
	many.want = append(many.want, at("a.ign", len(many.want), document))
	full := bombCase{name: "many that fit in one document", files: map[string]string{"a.ign": ignitionFiles("a", repeatField(contents(fits), 200)...)}, want: []string{at("a.ign", l.document/l.file, document)}, kept: l.document}
	documents := bombCase{name: "one in each of many documents", files: map[string]string{}, kept: l.all}
	join := bombCase{name: "all appended to one file", files: map[string]string{}, kept: l.file + 2<<20}
	for i := range 60 {
		name := fmt.Sprintf("d%02d", i)
		documents.files[name+".ign"] = ignitionFiles(name, contents(fits))
		if i < 4 {
			join.files[name+".ign"] = ignitionFiles("a", `"append":[`+strings.Join(repeatField(gzipSource(gzipMember(t, l.file/8)), 2), ",")+`]`)
		}
		// The sources that are kept count, too.
		if count := i + 1; count*(l.file+len(contents(fits))) > l.all {
			documents.want = append(documents.want, at(name+".ign", 0, all))
		}
	}
	join.files["e.ign"] = ignitionFiles("a", `"append":[`+gzipSource(gzipMember(t, l.file/8))+`]`)
	join.want = []string{"e.ign:1: storage.files[0]: append: the file is larger than"}
	return append(cases, many, full, documents, join)
}

// TestBombs loads documents that unpack to many GiB. Each is refused with its file
// and its place, before it fills the memory, and without being unpacked to the
// end.
func TestBombs(t *testing.T) {
	if longtest.RaceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	l, gigabytes := bombLimits(longtest.Slow())
	for _, c := range bombCases(t, l, gigabytes) {
		t.Run(c.name, func(t *testing.T) {
			dir, texts := t.TempDir(), 0
			var paths []string
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if texts += len(text); name != "bomb.gz" {
					paths = append(paths, name)
				}
			}
			cache := NewCache()
			cache.contents.limits = l
			var err error
			allocated := allocatedBy(func() {
				_, err = Load(Source{FS: os.DirFS(dir), Root: dir, Paths: []string{"."}, Cache: cache, Known: []string{"bomb.gz"}})
			})
			checkProblems(t, err, dir, c.want)
			// Nothing that was refused stays in memory, and little else is used in passing.
			if most := c.kept + 16*texts + 24<<20; allocated > most {
				t.Errorf("%d MiB were allocated, at most %d", allocated>>20, most>>20)
			}
			if most := l.all + l.file + texts; cache.contents.bytes > most {
				t.Errorf("%d MiB were unpacked, at most %d", cache.contents.bytes>>20, most>>20)
			}
			t.Logf("%d documents of %d KiB: %d MiB unpacked, %d MiB allocated", len(paths), texts>>10, cache.contents.bytes>>20, allocated>>20)
		})
	}
}

// allocatedBy returns how many bytes f allocates in all, which is at least as
// much as it ever has at the same time.
func allocatedBy(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// checkProblems compares the problems with their expected beginnings. It ignores
// columns.
func checkProblems(t *testing.T, err error, dir string, want []string) {
	t.Helper()
	var got Errors
	if err != nil && !errors.As(err, &got) {
		t.Fatal(err)
	}
	for i, e := range got {
		place := e.Place
		place.Column = 0
		text := strings.TrimPrefix(place.String(), dir+"/") + ": " + e.Text
		if i >= len(want) || !strings.HasPrefix(text, want[i]) {
			t.Fatalf("problem %d is %s; want %q", i, text, want)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d problems, want %d", len(got), len(want))
	}
}

// TestSharedContentsAreCounted checks that the contents of a file are counted for
// each host to whose file a document of its own appends something.
func TestSharedContentsAreCounted(t *testing.T) {
	cache := NewCache()
	cache.contents.limits = limits{file: 4 << 20, document: 8 << 20, all: 32 << 20, texts: 1 << 20, values: 10_000}
	files := fstest.MapFS{"base.ign": {Data: []byte(ignitionFiles("a", `"contents":`+gzipSource(gzipMember(t, 3<<20))))}}
	var first error
	loads := 0
	for ; loads < 100 && first == nil; loads++ {
		var loaded Loaded
		if loaded, first = Load(Source{FS: files, Paths: []string{"base.ign", "own"}, Texts: map[string]Text{"own": {Name: "own", Data: ignitionFiles("a", `"append":[{"source":"data:,x"}]`)}}, Cache: cache}); first == nil {
			loaded.Config.Compact()
		}
	}
	if first == nil || !strings.Contains(first.Error(), "append: exceeds the limit of 32 MiB for the contents of all documents") || loads != 10 {
		t.Errorf("after %d hosts: %v", loads, first)
	}
}

// TestRemoteBombs checks that a document fetches no more than it may have, and
// gives up after a few failures.
func TestRemoteBombs(t *testing.T) {
	page := bytes.Repeat([]byte("x"), 3<<20)
	for _, c := range []struct {
		name, hash, want string
		asked            int
	}{
		{"too much", hashOf(string(page)), "x.ign:6: storage.files[5].contents.source: exceeds the limit of 16 MiB for the contents of this document", 6},
		{"failures", hashOf("other"), "x.ign:1: storage.files[0].contents.source: cannot be fetched from https://x.example/a", maxFailedFetches},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := NewCache()
			cache.contents.limits = limits{file: 4 << 20, document: 16 << 20, all: 32 << 20, texts: 1 << 20, values: 10_000}
			var asked []Remote
			text := ignitionFiles("a", repeatField(`"contents":{"source":"https://x.example/a","verification":{"hash":"`+c.hash+`"}}`, 100)...)
			_, err := Load(Source{FS: fstest.MapFS{"x.ign": {Data: []byte(text)}}, Paths: []string{"x.ign"}, Cache: cache, Fetch: serveFrom(map[string][]byte{"https://x.example/a": page}, &asked)})
			var got Errors
			if !errors.As(err, &got) || len(asked) != c.asked {
				t.Fatalf("%d fetches, want %d: %v", len(asked), c.asked, err)
			}
			checkProblems(t, Errors(got[:1]), "", []string{c.want})
		})
	}
}

// TestParsedFilesAreSmall checks that files with a parser of their own are refused
// before it parses them: it needs many times their size.
func TestParsedFilesAreSmall(t *testing.T) {
	for path, text := range map[string]string{
		"/etc/containers/registries.conf":          strings.Repeat("[[registry]]\nlocation='a'\n", 1<<16),
		"/etc/containers/registries.conf.d/a.conf": strings.Repeat("[[registry]]\nlocation='a'\n", 1<<16),
		"/var/lib/kubelet/config.json":             `{"auths":{"a":{"auth":"YTpi"}` + strings.Repeat(" ", 1<<20) + "}}",
	} {
		doc := `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"` + path + `","contents":` + gzipSource(gzipText(text)) + `}]}}`
		var err error
		allocated := allocatedBy(func() {
			_, err = Load(Source{FS: fs.FS(fstest.MapFS{"x.ign": {Data: []byte(doc)}}), Paths: []string{"x.ign"}})
		})
		checkProblems(t, err, "", []string{"x.ign:1: storage.files[0].contents: has more than 1 MiB, which is too much for a list of registries; correct it"})
		if allocated > 16<<20 {
			t.Errorf("%s: %d MiB were allocated", path, allocated>>20)
		}
	}
}

// TestValuesOfAllDocuments checks that the values of all documents together are
// bounded: a few bytes with aliases become two million values, in each document.
// Documents that are not files are counted only as long as they are in memory.
func TestValuesOfAllDocuments(t *testing.T) {
	const doc = "---\nkind: MachineConfig\nmetadata: {name: a%d, annotations: {a: &a [1, 1, 1, 1, 1, 1, 1, 1], b: &b [*a, *a, *a, *a, *a, *a, *a, *a], c: [*b, *b, *b, *b]}}\n"
	cache := NewCache()
	cache.contents.limits.values = 1900
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, doc, i)
	}
	_, err := Load(Source{FS: fstest.MapFS{"x.yaml": {Data: []byte(text.String())}}, Paths: []string{"x.yaml"}, Cache: cache})
	checkProblems(t, err, "", []string{"x.yaml:17: exceeds the limit of 1900 values for all documents; write fewer, with fewer aliases"})
	cache = NewCache()
	cache.contents.limits.values = 1900
	for i := range 10 {
		if _, err := Load(Source{FS: fstest.MapFS{}, Paths: []string{"own"}, Texts: map[string]Text{"own": {Name: "own", Data: fmt.Sprintf(doc, i)}}, Cache: cache}); err != nil {
			t.Fatalf("host %d: %v", i, err)
		}
	}
}
