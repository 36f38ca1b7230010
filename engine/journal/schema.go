package journal

import (
	"encoding/json"
	"fmt"
)

// otherSchemaError reports a file that another version of holdfast has written, in a format of its own. Nothing may replace it.
type otherSchemaError struct {
	path        string
	schema, own int
}

func (e otherSchemaError) Error() string {
	return fmt.Sprintf("%s has schema %d, and this version of holdfast reads schema %d; use the version that wrote it", e.path, e.schema, e.own)
}

// checkSchema returns an otherSchemaError if the text of a file has another schema. It decodes nothing else, because other
// versions may have other fields and types. A text without a schema, or that is no JSON, is no such error.
func checkSchema(path string, text []byte, own int) error {
	var file struct {
		Schema int `json:"schema"`
	}
	if json.Unmarshal(text, &file) != nil || file.Schema == 0 || file.Schema == own {
		return nil
	}
	return otherSchemaError{path, file.Schema, own}
}
