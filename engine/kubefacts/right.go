package kubefacts

// Right is one right that a user of an API needs.
type Right struct {
	Verb        string
	Group       string // API group; "": the core group
	Resource    string
	Subresource string
	Namespace   string
}

// String returns the right for people.
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}
