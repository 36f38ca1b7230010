package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/site"
)

// stageTimeout bounds a staging. At the slowest pace of the governor, an update of
// 500 MiB may need all of this time.
const stageTimeout = 60 * time.Minute

func (b *Bench) inventoryPath() string { return filepath.Join(b.Lab.Site(), "bench.hcl") }

func (u *update) writeInventory() error {
	text, err := os.ReadFile(filepath.Join(u.bench.Lab.Site(), site.Inventory))
	if err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	changed, err := u.way.changeInventory(string(text), u.bench.Lab.Repository())
	if err != nil {
		return err
	}
	if err := os.WriteFile(u.bench.inventoryPath(), []byte(changed), 0o600); err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	return nil
}

func (w way) changeInventory(text, repository string) (string, error) {
	insertions := [][2]string{{"pool \"etcd\" {\n", fmt.Sprintf("  timeouts {\n    stage = %q\n  }\n", stageTimeout)}}
	if !w.governed {
		insertions = append(insertions, [2]string{"etcd_cluster \"main\" {\n", "  governor = false\n"})
	}
	if w.mirrored {
		insertions = append(insertions,
			[2]string{"site \"lab\" {\n", fmt.Sprintf("  mirror {\n    repository = %q\n  }\n", repository)},
			[2]string{"    driver = \"ostree\"\n", "    source = \"bastion\"\n"})
	}
	for _, i := range insertions {
		before, after, found := strings.Cut(text, i[0])
		if !found {
			return "", fmt.Errorf("write inventory: the inventory of the lab has no line %q", strings.TrimSpace(i[0]))
		}
		text = before + i[0] + i[1] + after
	}
	return text, nil
}
