package sshconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/kevinburke/ssh_config"
)

// Config is a parsed ssh_config; the zero value has no entries.
type Config struct {
	path   string
	parsed *ssh_config.Config
}

// Read parses the ssh_config at path. If the file is missing, Read returns an
// error only if named is true.
func Read(path, home string, named bool, files Reader) (Config, error) {
	text, err := files.Read(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return Config{path: path}, nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("read ssh_config: %w", err)
	}
	if err := files.checkMatch(path, text, home, 0); err != nil {
		return Config{}, err
	}
	parsed, err := ssh_config.DecodeBytes(text)
	if err != nil {
		return Config{}, fmt.Errorf("parse %s: %w", path, err)
	}
	return Config{path: path, parsed: parsed}, nil
}

func (c Config) firstValue(alias, keyword string) (string, error) {
	if c.parsed == nil {
		return "", nil
	}
	v, err := c.parsed.Get(alias, keyword)
	if err != nil {
		return "", fmt.Errorf("%s: %s of %s: %w", c.path, keyword, alias, err)
	}
	return strings.TrimSpace(v), nil
}

func (c Config) allValues(alias, keyword string) ([]string, error) {
	if c.parsed == nil {
		return nil, nil
	}
	v, err := c.parsed.GetAll(alias, keyword)
	if err != nil {
		return nil, fmt.Errorf("%s: %s of %s: %w", c.path, keyword, alias, err)
	}
	return v, nil
}

// maxInclude bounds nested includes of ssh_config files. The parser has the
// same bound.
const maxInclude = 5

// checkMatch refuses Match lines that the parser would misread. The parser supports `Match all` and `Match host`, but
// takes every word after host for a pattern. `Match host a user b` and `Match host a,b` would silently have another
// meaning.
func (r Reader) checkMatch(path string, text []byte, home string, depth int) error {
	n := 0
	for line := range strings.Lines(string(text)) { // of any length
		n++
		line = strings.TrimSpace(line)
		words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '=' })
		if len(words) == 0 {
			continue
		}
		switch strings.ToLower(words[0]) {
		case "match":
			if !isSupportedMatch(words[1:]) {
				return fmt.Errorf("%s:%d: %s: only `Match all` and `Match host` with one pattern are understood; use Host, or a config without it",
					path, n, line)
			}
		case "include":
			if err := r.checkIncluded(words[1:], home, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func isSupportedMatch(criteria []string) bool {
	switch {
	case len(criteria) == 1:
		return strings.EqualFold(criteria[0], "all")
	case len(criteria) == 2:
		return strings.EqualFold(criteria[0], "host") && !strings.Contains(criteria[1], ",")
	}
	return false
}

func (r Reader) checkIncluded(patterns []string, home string, depth int) error {
	if depth > maxInclude {
		return nil // the parser reports the error
	}
	for _, p := range patterns {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			p = filepath.Join(home, rest)
		} else if !filepath.IsAbs(p) {
			p = filepath.Join(home, ".ssh", p)
		}
		files, err := filepath.Glob(p)
		if err != nil {
			return fmt.Errorf("include %s: %w", p, err)
		}
		for _, f := range files {
			text, err := r.Read(f)
			if err != nil {
				return fmt.Errorf("include: %w", err)
			}
			if err := r.checkMatch(f, text, home, depth); err != nil {
				return err
			}
		}
	}
	return nil
}
