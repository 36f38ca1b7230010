restore() { rpm-ostree rollback; }
drop() { rpm-ostree cleanup --pending; }
