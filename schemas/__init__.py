"""One definition of everything that crosses a border: files a user writes, records we write."""
