CREATE TABLE `skills` (
	`tenant_id` text NOT NULL,
	`key` text NOT NULL,
	`version` integer NOT NULL,
	`description` text,
	`sha256` text NOT NULL,
	`bytes` integer NOT NULL,
	`token_estimate` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer,
	PRIMARY KEY(`tenant_id`, `key`)
) STRICT;
