package reporttest

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// CheckPage checks that the tags of the page of a report are balanced, that it has
// a heading, and that it has no script and names nothing outside of the file. The
// page is written as well-formed XML, too.
func CheckPage(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Entity = xml.HTMLEntity
	headings := 0
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && headings != 1:
			return fmt.Errorf("the page has %d elements h1", headings)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the page is not well-formed: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "h1":
			headings++
		case "script", "img", "link", "iframe", "object", "form", "base":
			return fmt.Errorf("the page has an element %s", start.Name.Local)
		}
		if err := checkAttributes(start); err != nil {
			return err
		}
	}
}

func checkAttributes(e xml.StartElement) error {
	for _, a := range e.Attr {
		name := strings.ToLower(a.Name.Local)
		if strings.HasPrefix(name, "on") || name == "style" || name == "src" || name == "href" && !strings.HasPrefix(a.Value, "#") {
			return fmt.Errorf("the page has the attribute %s=%q of %s", name, a.Value, e.Name.Local)
		}
	}
	return nil
}
