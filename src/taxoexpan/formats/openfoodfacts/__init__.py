"""The format of Open Food Facts; see https://wiki.openfoodfacts.org/Global_taxonomies."""
