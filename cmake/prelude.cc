// Whoever compiles this has the headers of ISOCENTER_PRELUDE parsed for all rooms.
